import { testFault } from '../door/test-fault.ts';
import { pauseFleet } from './stopped-server.ts';

testFault(pauseFleet);

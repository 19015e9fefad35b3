import { testFault } from '../door/test-fault.ts';
import { standby } from './standby-storm.ts';

testFault(standby);

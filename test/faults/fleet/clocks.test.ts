import { testFault } from '../door/test-fault.ts';
import { fleetClocks } from './clocks.ts';

testFault(fleetClocks);

import { testFault } from '../door/test-fault.ts';
import { clock } from './clock.ts';

testFault(clock);

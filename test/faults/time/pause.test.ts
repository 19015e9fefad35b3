import { testFault } from '../door/test-fault.ts';
import { pause } from './pause.ts';

testFault(pause);

import { testFault } from '../door/test-fault.ts';
import { kill } from './kill-storm.ts';

testFault(kill);

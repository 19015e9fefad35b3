import { testFault } from '../door/test-fault.ts';
import { herd } from './herd.ts';

testFault(herd);

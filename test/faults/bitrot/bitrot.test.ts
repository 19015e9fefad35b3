import { testFault } from '../door/test-fault.ts';
import { bitrot } from './bitrot.ts';

testFault(bitrot);

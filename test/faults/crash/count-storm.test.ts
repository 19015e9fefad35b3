import { testFault } from '../door/test-fault.ts';
import { count } from './count-storm.ts';

testFault(count);

import { testFault } from '../door/test-fault.ts';
import { takeover } from './takeover.ts';

testFault(takeover);

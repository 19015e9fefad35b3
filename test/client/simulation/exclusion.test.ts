import { testFault } from '../../faults/door/test-fault.ts';
import { client } from './client-fault.ts';

testFault(client);

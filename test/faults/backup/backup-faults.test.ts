import { testFault } from '../door/test-fault.ts';
import { backup } from './backup-faults.ts';

testFault(backup);

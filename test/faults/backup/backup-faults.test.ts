import { testFault } from '../door/test-fault.ts';
import { backup, backupPostgres } from './backup-faults.ts';

testFault(backup);
testFault(backupPostgres);

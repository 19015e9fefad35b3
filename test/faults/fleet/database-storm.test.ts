import { testFault } from '../door/test-fault.ts';
import { database } from './database-storm.ts';

testFault(database);

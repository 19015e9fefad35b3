import { testFault } from '../door/test-fault.ts';
import { fleet } from './fleet-storm.ts';

testFault(fleet);

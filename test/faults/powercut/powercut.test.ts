import { testFault } from '../door/test-fault.ts';
import { powercut } from './powercut.ts';

testFault(powercut);

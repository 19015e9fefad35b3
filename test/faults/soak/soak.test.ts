import { testFault } from '../door/test-fault.ts';
import { soak } from './soak.ts';

testFault(soak);

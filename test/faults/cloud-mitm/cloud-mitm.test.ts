import { testFault } from '../door/test-fault.ts';
import { cloudMitm } from './cloud-mitm.ts';

testFault(cloudMitm);

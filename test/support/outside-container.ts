import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Imported by a process before all else, it hides from it that it runs in a container, as tests often do. */

const MARKS = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];
const { existsSync, readFileSync } = fs;

fs.existsSync = (path) => !MARKS.includes(String(path)) && existsSync(path);
fs.readFileSync = ((path: string, options: undefined) =>
  path === '/proc/1/cgroup' ? '0::/\n' : readFileSync(path, options)) as typeof readFileSync;
syncBuiltinESMExports();

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { canConnect } from './can-connect.ts';
import { makeTestCertificate } from './certificate.ts';
import { findFreePort } from './free-port.ts';
import { ensureTool } from './install-tools.ts';
import { temporaryFolder } from './server-process.ts';

export const READER = { dn: 'cn=reader,dc=example', password: 'the password of the reader' } as const;

/** Who may change the directory while it runs. */
export const ROOT = { dn: 'cn=root,dc=example', password: 'secret' } as const;

const PERSON = (uid: string, more = '') => `dn: uid=${uid},ou=people,dc=example
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid}
sn: ${uid}
userPassword: password of ${uid}
${more}`;

const GROUP = (cn: string, ...members: readonly string[]) => `dn: cn=${cn},ou=groups,dc=example
objectClass: groupOfNames
cn: ${cn}
${members.map((uid) => `member: uid=${uid},ou=people,dc=example\n`).join('')}`;

const UNIT = (ou: string) => `dn: ou=${ou},dc=example\nobjectClass: organizationalUnit\nou: ${ou}\n`;

/** What Active Directory says about an account; OpenLDAP has to be told of these names. */
const ACCOUNT_SCHEMA = `attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl'
  EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.159 NAME 'accountExpires'
  EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.99999.1 NAME 'adAccount' SUP top AUXILIARY
  MAY ( userAccountControl $ accountExpires ) )
`;

/** The entry of another server, which nobody should be sent to. */
const REFERRAL = (url: string) => `dn: ou=elsewhere,ou=people,dc=example
objectClass: referral
objectClass: extensibleObject
ou: elsewhere
ref: ${url}
`;

function listEntries(elsewhere: string): string {
  return [
    'dn: dc=example\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n',
    UNIT('people'),
    UNIT('groups'),
    'dn: cn=reader,dc=example\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\n' +
      `cn: reader\nuserPassword: ${READER.password}\n`,
    PERSON('ann', 'mail: twice@example.com\n'),
    PERSON('bob', 'mail: twice@example.com\n'),
    PERSON('eve'),
    PERSON('o*(dd)'),
    GROUP('berth-admins', 'ann'),
    GROUP('Staff', 'ann', 'bob', 'o*(dd)'),
    REFERRAL(elsewhere),
  ].join('\n');
}

interface Life {
  after(work: () => unknown): void;
}

/** OpenLDAP with some people; `null` where it is missing and cannot be installed. */
export async function startSlapd(t: Life, elsewhere = 'ldap://127.0.0.1:1/') {
  if (!(await ensureTool('slapd'))) return null;
  const folder = temporaryFolder(t);
  const { key, cert } = makeTestCertificate({ names: ['127.0.0.1', 'localhost'] });
  const put = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const certFile = put('cert.pem', cert);
  mkdirSync(join(folder, 'data'));
  const settings = put(
    'slapd.conf',
    `include /etc/ldap/schema/core.schema
     include /etc/ldap/schema/cosine.schema
     include /etc/ldap/schema/inetorgperson.schema
     include ${put('account.schema', ACCOUNT_SCHEMA)}
     modulepath /usr/lib/ldap
     moduleload back_mdb
     moduleload memberof
     TLSCertificateFile ${certFile}
     TLSCertificateKeyFile ${put('key.pem', key)}
     database mdb
     suffix dc=example
     rootdn ${ROOT.dn}
     rootpw ${ROOT.password}
     directory ${join(folder, 'data')}
     overlay memberof
     access to attrs=userPassword by anonymous auth by * none
     access to * by dn.exact=${READER.dn} read by * none
    `.replace(/^ +/gm, ''),
  );
  const filled = spawnSync('slapadd', ['-f', settings, '-l', put('entries.ldif', listEntries(elsewhere))]);
  if (filled.status !== 0) throw new Error(String(filled.stderr));
  for (let tries = 1; ; tries++) {
    const slapd = await tryToStart(settings);
    if (slapd.isUp) {
      t.after(slapd.stop);
      const { plain, secure, stop } = slapd;
      return { plain, secure, certFile, stop };
    }
    await slapd.stop();
    if (tries === MAX_TRIES) throw new Error(`slapd did not start:\n${slapd.said}`);
  }
}

/** On a busy machine, two of a few hundred starts never became ready, and we do not know why. */
const MAX_TRIES = 3;
const PATIENCE_MS = 10_000;

async function tryToStart(settings: string) {
  const [port, securePort] = [await findFreePort(), await findFreePort()];
  const [plain, secure] = [`ldap://127.0.0.1:${port}`, `ldaps://127.0.0.1:${securePort}`];
  const words = ['-f', settings, '-h', `${plain}/ ${secure}/`, '-d', 'none'];
  const child = spawn('slapd', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const ended = once(child, 'exit');
  let isUp = false;
  const stop = async () => {
    child.kill(isUp ? 'SIGTERM' : 'SIGKILL');
    await ended;
  };
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  for (const untilMs = performance.now() + PATIENCE_MS; performance.now() < untilMs && !isOver(); ) {
    isUp = (await canConnect(securePort)) === true;
    if (isUp) break;
    await delay(20);
  }
  return { plain, secure, stop, isUp, said: `${child.exitCode ?? child.signalCode ?? 'hung'}: ${said}` };
}

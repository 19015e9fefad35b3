import { type Bounded, isDirectoryUrl, isIssuer } from './setting.ts';

const always = () => true;

/** A name in a directory contains commas. */
const DN_LIST = { default: [], separator: ';' } as const;

/** As in `core/access/role-of-groups.ts`. */
const PRODUCT_GROUPS = {
  each: { called: 'PRODUCT=GROUP', isValid: (entry: string) => /^\s*[^=\s][^=]*=.*\S/.test(entry) },
  about: 'Groups whose members are operators of single products only, each as PRODUCT=GROUP.',
};

/** Signing in with an OpenID provider, and with a directory. */
export const AUTH_SETTINGS = [
  {
    path: 'auth.oidc.issuer',
    default: '',
    form: {
      called: 'the address of an OpenID provider, such as https://login.example.com/realms/company',
      isValid: isIssuer,
    },
    about:
      'OpenID provider with which people sign in to the page, by the name that it gives itself; if empty, ' +
      'there is none.',
  },
  {
    path: 'auth.oidc.name',
    default: '',
    about: 'What the page calls the provider; if empty, its host.',
  },
  { path: 'auth.oidc.clientId', default: '', about: 'Id of this server at the provider.' },
  {
    path: 'auth.oidc.clientSecret',
    default: '',
    show: () => '…',
    about: 'Secret of this server at the provider; empty if it has none.',
  },
  {
    path: 'auth.oidc.scopes',
    default: ['openid', 'profile', 'email'],
    each: {
      called: 'scopes, with openid among them',
      isValid: (word) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(word),
    },
    about: 'What the provider is asked to tell about people.',
  },
  {
    path: 'auth.oidc.nameClaim',
    default: 'preferred_username',
    about: 'Claim with the name of a person, for the page and the audit log; without it, their id is used.',
  },
  {
    path: 'auth.oidc.groupsClaim',
    default: 'groups',
    about: 'Claim that decides about the role of a person: a list of groups, or a single text.',
  },
  { path: 'auth.oidc.admins', default: [], about: 'Groups whose members are administrators.' },
  { path: 'auth.oidc.operators', default: [], about: 'Groups whose members are operators.' },
  { path: 'auth.oidc.productOperators', default: [], ...PRODUCT_GROUPS },
  { path: 'auth.oidc.viewers', default: [], about: 'Groups whose members may look at everything.' },
  {
    path: 'auth.oidc.caFile',
    default: '',
    isPath: always,
    about: 'File with certificates (PEM) that vouch for the provider, if it is none that Node knows.',
  },
  {
    path: 'auth.ldap.url',
    default: '',
    form: { called: 'a URL such as ldaps://dc.example.com', isValid: isDirectoryUrl },
    about:
      'Directory (LDAP, Active Directory) that checks names and passwords of people without an account ' +
      'here; if empty, none does.',
  },
  {
    path: 'auth.ldap.startTls',
    default: true,
    about: 'Whether a connection to ldap:// is secured with StartTLS; without it, passwords can be read.',
  },
  {
    path: 'auth.ldap.caFile',
    default: '',
    isPath: always,
    about: 'File with certificates (PEM) that vouch for the directory, if it is none that Node knows.',
  },
  {
    path: 'auth.ldap.bindDn',
    default: '',
    about: 'Name in the directory with which the server looks for people; if empty, it looks without one.',
  },
  {
    path: 'auth.ldap.bindPassword',
    default: '',
    show: () => '…',
    about: 'Password of that name.',
  },
  { path: 'auth.ldap.base', default: '', about: 'Where in the directory people are.' },
  {
    path: 'auth.ldap.filter',
    default: '(uid={name})',
    form: {
      called: 'an LDAP filter with {name} in it, such as (uid={name})',
      isValid: (text) => /^\(.+\)$/.test(text) && text.includes('{name}'),
    },
    about: 'Filter that finds a person by the name that they typed.',
  },
  {
    path: 'auth.ldap.nameAttribute',
    default: 'uid',
    about: 'Attribute with the name of a person, for the page and the audit log.',
  },
  {
    path: 'auth.ldap.groupsAttribute',
    default: 'memberOf',
    about: 'Attribute of a person with their groups.',
  },
  {
    path: 'auth.ldap.groupBase',
    default: '',
    about: 'Where in the directory groups are; if empty, they are not looked for, and the attribute counts.',
  },
  {
    path: 'auth.ldap.groupFilter',
    default: '(member={dn})',
    form: {
      called: 'an LDAP filter with {dn} in it, such as (member={dn})',
      isValid: (text) => /^\(.+\)$/.test(text) && text.includes('{dn}'),
    },
    about: 'Filter that finds the groups of a person by their name in the directory.',
  },
  { path: 'auth.ldap.admins', ...DN_LIST, about: 'Groups whose members are administrators.' },
  { path: 'auth.ldap.operators', ...DN_LIST, about: 'Groups whose members are operators.' },
  { path: 'auth.ldap.productOperators', ...DN_LIST, ...PRODUCT_GROUPS },
  { path: 'auth.ldap.viewers', ...DN_LIST, about: 'Groups whose members may look at everything.' },
] as const satisfies readonly Bounded[];

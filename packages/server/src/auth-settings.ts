import { type Bounded, isIssuer } from './setting.ts';

/** Signing in to the page with an OpenID provider. */
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
      'only accounts of this server sign in.',
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
  { path: 'auth.oidc.viewers', default: [], about: 'Groups whose members may look at everything.' },
  {
    path: 'auth.oidc.caFile',
    default: '',
    isPath: () => true,
    about: 'File with certificates (PEM) that vouch for the provider, if it is none that Node knows.',
  },
] as const satisfies readonly Bounded[];

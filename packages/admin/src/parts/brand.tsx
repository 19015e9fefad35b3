import type { Welcome } from '@berth/protocol/admin/session';

/** The logo and name of the company, or else ours. */
export function Brand({ welcome }: { readonly welcome: Welcome }) {
  return (
    <>
      {welcome.has_logo ? <img src="assets/logo" alt="" /> : <Sign />}
      <span>
        <bdi>{welcome.name || 'Berth'}</bdi>
      </span>
    </>
  );
}

/** The sign of Berth. */
function Sign() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" fill="#1b5cab" />
      <path d="M5 5h2.4v14H5z" fill="#fff" />
      <path d="M9.4 5h6.2a3.4 3.4 0 0 1 0 6.8H9.4zM9.4 13.2h6.4a2.9 2.9 0 0 1 0 5.8H9.4z" fill="#fff" />
      <path d="M12 15.2h3.6a.9.9 0 0 1 0 1.8H12z" fill="#1b5cab" />
    </svg>
  );
}

/** The administrator's page as it was built: what `build/page.ts` writes and the server sends. */
export interface BuiltPage {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
}

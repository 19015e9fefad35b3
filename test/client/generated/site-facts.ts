/** What a generated client needs in order to call every operation with success. */
export interface Site {
  readonly url: string;
  /** The one-time password of the administrator. */
  readonly password: string;
  readonly apiKey: string;
  readonly sharedKey: string;
  /** The key of a license of "cad" that the licensing cloud has. */
  readonly licenseKey: string;
  /** The answer of the licensing cloud to a request of this server. */
  readonly licenseFile: string;
  readonly airgap: {
    readonly licenseKey: string;
    readonly initializationCode: string;
    readonly policyFile: string;
    readonly policyId: string;
    readonly confirmationCode: string;
  };
}

/** Options files that can be read. */
export const OPTION_FORMATS = ['flexnet', 'rlm'] as const;

export type OptionFormat = (typeof OPTION_FORMATS)[number];

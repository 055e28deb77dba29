/** Colours of texts that are read outside the pages: mails, and documents without their styles. */
export interface Palette {
  readonly paper: string;
  readonly surface: string;
  readonly line: string;
  readonly ink: string;
  readonly soft: string;
  readonly accent: string;
  readonly accentInk: string;
  readonly tones: Readonly<Record<Tone, string>>;
}

/** Subject of a text: a failure, a warning, a recovery, missing data, or neither good nor bad. */
export type Tone = 'failed' | 'degraded' | 'passed' | 'missed' | 'neutral';

/** The same values as those of the pages; a test compares them. */
export const light: Palette = {
  ...{ paper: '#f7f7f5', surface: '#ffffff', line: '#e3e2dd', ink: '#15171c', soft: '#555b66' },
  ...{ accent: '#1a5fd0', accentInk: '#ffffff' },
  tones: {
    ...{ failed: '#b3211a', degraded: '#7f5700', passed: '#156c3a', missed: '#555b66' },
    neutral: '#1a5fd0',
  },
};

export const dark: Palette = {
  ...{ paper: '#0e1014', surface: '#16191f', line: '#2b303a', ink: '#e9ebef', soft: '#a3abb8' },
  ...{ accent: '#82b5ff', accentInk: '#0e1014' },
  tones: {
    ...{ failed: '#ff8278', degraded: '#f0bd4f', passed: '#5cc990', missed: '#a3abb8' },
    neutral: '#82b5ff',
  },
};

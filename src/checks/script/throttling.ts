import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

/** Kilobits per second and milliseconds; null is not limited. */
export interface NetworkConditions {
  readonly downloadKbps: number | null;
  readonly uploadKbps: number | null;
  readonly latencyMs: number | null;
}

const conditions = (downloadKbps: number, uploadKbps: number, latencyMs: number): NetworkConditions => ({
  downloadKbps,
  uploadKbps,
  latencyMs,
});

/** The profiles of WebPageTest: its "connectivity". */
const profiles = {
  '3G_SLOW': conditions(400, 400, 400),
  '3G': conditions(1600, 768, 300),
  '4G': conditions(9000, 9000, 170),
  DSL: conditions(1500, 384, 50),
  CABLE: conditions(5000, 1000, 28),
} as const;
const profileNames = ['3G_SLOW', '3G', '4G', 'DSL', 'CABLE', 'CUSTOM'] as const;

const kbps = z.int().min(1).max(10_000_000).nullable().default(null);

const Throttling = lazySchema(() =>
  z
    .object({
      profile: z.enum(profileNames),
      downloadKbps: kbps.describe('For CUSTOM: kilobits per second to the browser; null: not limited'),
      uploadKbps: kbps.describe('For CUSTOM: kilobits per second from the browser; null: not limited'),
      latencyMs: z
        .int()
        .min(0)
        .max(60_000)
        .nullable()
        .default(null)
        .describe('For CUSTOM: least time from a request to its response, in milliseconds'),
    })
    .superRefine(({ profile, ...own }, context) => {
      const set = (['downloadKbps', 'uploadKbps', 'latencyMs'] as const).filter((name) => own[name] !== null);
      const refuse = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      if (profile === 'CUSTOM' && set.length === 0) {
        refuse('profile', 'CUSTOM needs downloadKbps, uploadKbps or latencyMs');
      }
      if (profile !== 'CUSTOM') for (const name of set) refuse(name, `is for CUSTOM; ${profile} has its own`);
    }),
);
type Throttling = z.output<typeof Throttling.schema>;

export const ThrottlingField = lazySchema(() =>
  Throttling.schema
    .nullable()
    .default(null)
    .describe('A slower network for the browser (Chromium only); null: the network as it is'),
);

/** Limits that a run had, in its result. */
export const ThrottlingDetail = lazySchema(() =>
  z.object({
    profile: z.string(),
    downloadKbps: z.number().nullable(),
    uploadKbps: z.number().nullable(),
    latencyMs: z.number().nullable(),
  }),
);
export type ThrottlingDetail = z.infer<typeof ThrottlingDetail.schema>;

/** The profile with its numbers. */
export function throttlingDetail({ profile, ...own }: Throttling): ThrottlingDetail {
  return { profile, ...(profile === 'CUSTOM' ? own : profiles[profile]) };
}

/** The same in words: `3G: 1600 kbit/s down, 768 kbit/s up, 300 ms latency`. */
export function throttlingText({ profile, downloadKbps, uploadKbps, latencyMs }: ThrottlingDetail): string {
  const parts = [
    downloadKbps === null ? '' : `${downloadKbps} kbit/s down`,
    uploadKbps === null ? '' : `${uploadKbps} kbit/s up`,
    latencyMs === null ? '' : `${latencyMs} ms latency`,
  ];
  return `${profile}: ${parts.filter((part) => part !== '').join(', ')}`;
}

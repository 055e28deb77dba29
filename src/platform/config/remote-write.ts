import { z } from 'zod';
import { headerListSetting } from '../outbound/header-list.ts';

/** Settings of the destination for metrics of checks. */
export const remoteWriteSettings = {
  REMOTE_WRITE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine(
      (text) => new URL(text).username === '',
      'must not contain a user name: put credentials into REMOTE_WRITE_HEADERS',
    )
    .optional()
    .meta({ defaultText: 'none: nothing is written' })
    .describe(
      'URL of a Prometheus remote-write receiver for the metrics of `/metrics/checks` of all accounts, such as `http://prometheus:9090/api/v1/write`',
    ),
  REMOTE_WRITE_HEADERS: headerListSetting().describe(
    'Request headers for the receiver, such as `authorization=Bearer%20…` or `x-scope-orgid=lab`: values are percent-encoded',
  ),
  REMOTE_WRITE_INTERVAL_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_600)
    .default(60)
    .describe('Interval between writes'),
};

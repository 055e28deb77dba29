import type { Feature } from '../../platform/feature/feature.ts';
import { TraceExport } from './trace-export.ts';

export const traces: Feature = {
  name: 'traces',
  parts: {
    traces: (parts) =>
      parts.config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? undefined : new TraceExport(parts),
  },
  jobs: ({ traces }) =>
    traces ? [{ name: 'traces', leaderOnly: false, longestMs: 5_000, work: traces }] : [],
};

declare module '../../platform/feature/parts.ts' {
  interface Parts {
    /** Undefined where no collector is configured. */
    readonly traces: TraceExport | undefined;
  }
}

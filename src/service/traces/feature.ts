import type { Feature } from '@picket/platform/feature/feature.ts';
import type { TraceExport } from '@picket/telemetry/traces/trace-export.ts';

export const traces: Feature = {
  name: 'traces',
  parts: {
    traces: async (parts) => {
      if (parts.config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
      const { TraceExport } = await import('@picket/telemetry/traces/trace-export.ts');
      return new TraceExport(parts);
    },
  },
  jobs: ({ traces }) =>
    traces ? [{ name: 'traces', leaderOnly: false, longestMs: 5_000, work: traces }] : [],
};

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Undefined if no collector is configured. */
    readonly traces: TraceExport | undefined;
  }
}

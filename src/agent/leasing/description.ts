import { packageVersion } from '@picket/lib/version.ts';
import type { Capabilities } from '../run/contracts.ts';
import type { LocationSettings } from './location-settings.ts';

const maxTextLength = 300;

/** Facts on check types in addition to their names, as claims carry them: one line of text for each. */
export function claimedFacts({ backends, failed }: Capabilities): {
  readonly backends: Record<string, string>;
  readonly unavailable: Record<string, string>;
} {
  return {
    backends: Object.fromEntries(Object.entries(backends).map(([name, text]) => [name, oneLine(text)])),
    unavailable: Object.fromEntries(failed.map(({ name, reason }) => [name, oneLine(reason)])),
  };
}

/** Check types that the threads of an agent can run, all threads together. */
export function mergedCapabilities(probes: Capabilities, scripts: Capabilities): Capabilities {
  return {
    ...scripts,
    loaded: [...probes.loaded, ...scripts.loaded],
    backends: { ...probes.backends, ...scripts.backends },
    failed: [...probes.failed, ...scripts.failed],
  };
}

/** How an agent describes itself in claims. Types that its location does not want are not offered. */
export function claimedDescription(capabilities: Capabilities, settings: LocationSettings) {
  return {
    version: packageVersion(),
    platform: `${process.platform}-${process.arch} node-${process.versions.node}`,
    runtimes: [...(capabilities.runtimes ?? [])],
    checkTypes: capabilities.loaded.filter((name) => settings.allows(name)),
    ...claimedFacts(capabilities),
    settings: settings.status,
  };
}

/** A text as one short line, as claims carry it. */
export function oneLine(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/\p{C}+/gu, ' ')
    .trim();
  if (line === '') return 'no reason given';
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength - 1).toWellFormed()}…` : line;
}

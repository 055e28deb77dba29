import type { Samples } from './samples.ts';
import { minimalScript, refusedScripts, startScriptSamples } from './script-samples.ts';

export const samples: Samples = {
  minimal: minimalScript,
  // From before there were multi-step checks.
  refused: { ...refusedScripts, runtimeId: { ...minimalScript, runtimeId: '2023.02' } },
  start: startScriptSamples,
};

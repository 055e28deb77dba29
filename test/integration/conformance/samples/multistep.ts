import type { Samples } from './samples.ts';
import { minimalScript, refusedScripts, startScriptSamples } from './script-samples.ts';

export const samples: Samples = {
  minimal: minimalScript,
  // A runtime from before multi-step checks existed.
  refused: { ...refusedScripts, runtimeId: { ...minimalScript, runtimeId: '2023.02' } },
  start: startScriptSamples,
};

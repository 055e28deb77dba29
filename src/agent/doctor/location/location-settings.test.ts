import { SentAgentSettings } from '@picket/protocol/agent/agent-settings.ts';
import { expect, it } from 'vitest';
import { judgeSettings } from './location-settings.ts';

const own = { checkTypes: ['URL', 'API'], laneSizes: { probe: 20, script: 2 }, logLevel: 'info' as const };
const verdicts = (asked: object) =>
  judgeSettings(SentAgentSettings.parse(asked), own).map(
    ({ status, about, detail }) => `${status} ${about}: ${detail}`,
  );

it('settings of a location are those that the environment permits', () => {
  expect(verdicts({})).toEqual([]);
  expect(
    verdicts({ checkTypes: ['URL'], probeConcurrency: 5, scriptConcurrency: 2, logLevel: 'warn' }),
  ).toEqual([
    'ok checkTypes: URL',
    'ok probeConcurrency: 5 at the same time',
    'ok scriptConcurrency: 2 at the same time',
    'ok logLevel: warn',
  ]);
});

it('what the operator refused is named, with the variable', () => {
  const asked = { checkTypes: ['URL', 'BROWSER'], probeConcurrency: 50, logLevel: 'debug', isDraining: true };
  expect(verdicts(asked)).toEqual([
    'warning checkTypes: URL; refused by CHECK_TYPES: BROWSER',
    'warning probeConcurrency: 20: 50 is refused by PROBE_CONCURRENCY',
    'warning logLevel: info: debug is refused by LOG_LEVEL',
    'warning isDraining: the agent takes no new runs: the location drains',
  ]);
  expect(verdicts({ checkTypes: ['DNS'] })).toEqual([
    'warning checkTypes: none: the agent runs nothing; refused by CHECK_TYPES: DNS',
  ]);
});

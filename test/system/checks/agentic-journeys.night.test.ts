import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgenticStage, startAgenticStage } from '../../helpers/agentic/agentic-stage.ts';
import { type Journey, journeys, type Layout } from '../../helpers/agentic/journeys.ts';
import { type ScriptedModel, startScriptedModel } from '../../helpers/agentic/scripted-model.ts';
import { isNight } from '../../helpers/night.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

const variables = { USER: 'Ada Lovelace', PASSWORD: 'correct horse battery' };
const replayCount = isNight ? 100 : 5;
const timeout = isNight ? 1_200_000 : 180_000;

describe('journeys', () => {
  let stage: AgenticStage;
  let model: ScriptedModel;
  beforeAll(async () => {
    stage = await startAgenticStage();
    model = await startScriptedModel('ollama');
  });
  afterAll(async () => {
    await model?.close();
    await stage?.close();
  });

  it.for(journeys.map((one) => [one.name, one] as const))(
    'are found, replayed without the model, healed, and fail on a broken site: %s',
    { timeout },
    async ([, journey], context) => {
      if (stage.missingBrowser && process.env.CI !== 'true') return context.skip(stage.missingBrowser);
      let layout: Layout = 'old';
      const site = await startHttpTarget({ routes: { site: journey.route(() => layout) } });
      try {
        await follow(journey, site, (next) => {
          layout = next;
        });
      } finally {
        await site.close();
      }
    },
  );

  async function follow(journey: Journey, site: HttpTarget, show: (layout: Layout) => void): Promise<void> {
    const url = `${site.url}/site`;
    const run = (plan?: { version: number; content: unknown }) =>
      stage.run({
        spec: { prompt: `Open ${url}, ${journey.prompt}.` },
        variables,
        secretNames: ['PASSWORD'],
        model: model.access(),
        plan,
      });

    const end = { name: 'finish', input: { isDone: true, summary: 'Done.' } };
    model.answerWith([{ name: 'open', input: { url } }, ...journey.found, end].map((call) => [call]));
    const first = await run();
    expect(first.outcome.failure).toBeUndefined();
    expect(first.outcome.detail.plan?.origin).toBe('found');
    const content = first.outcome.detail.plan?.fresh;
    expect(content?.steps).toHaveLength(journey.found.length + 1);

    const asked = model.questions.length;
    const times: number[] = [];
    for (let count = 0; count < replayCount; count += 1) {
      const { outcome } = await run({ version: 1, content });
      expect(outcome.failure).toBeUndefined();
      expect(outcome.detail).toMatchObject({ plan: { origin: 'replayed', fresh: null }, usage: null });
      times.push(outcome.responseTimeMs);
    }
    expect(model.questions).toHaveLength(asked);

    show('new');
    const resume = { name: 'resume', input: { step: journey.resumeAt, summary: 'Names have changed.' } };
    model.answerWith([...journey.healed, resume].map((call) => [call]));
    const healed = await run({ version: 1, content });
    expect(healed.outcome.failure).toBeUndefined();
    expect(healed.outcome.detail.plan?.origin).toBe('healed');
    const fresh = healed.outcome.detail.plan?.fresh;
    const again = await run({ version: 2, content: fresh });
    expect(again.outcome.detail).toMatchObject({ plan: { origin: 'replayed' }, usage: null });
    expect(again.outcome.failure).toBeUndefined();

    show('broken');
    model.answerWith([[{ name: 'give_up', input: { because: 'The site is out of order.' } }]]);
    const broken = await run({ version: 1, content });
    expect(broken.outcome.failure).toMatchObject({ code: journey.brokenCode, owner: 'target' });
    const usage = first.outcome.detail.usage;
    const median = times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)] ?? 0;
    console.log(
      `${journey.name}: found in ${Math.round(first.outcome.responseTimeMs)} ms with ${usage?.calls} questions and ${(usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)} tokens, ` +
        `replayed in ${Math.round(median)} ms, healed in ${Math.round(healed.outcome.responseTimeMs)} ms with ${healed.outcome.detail.usage?.calls} questions`,
    );
  }
});

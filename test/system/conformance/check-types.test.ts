import { describe } from 'vitest';
import { checkTypes } from '../../../src/checks/index.ts';
import { runSuite } from '../../integration/conformance/run-suite.ts';

const scriptTypes = checkTypes.filter(({ load, lane }) => load && lane !== 'probe');

describe.each(scriptTypes.map((type) => [type.name, type] as const))('runs of check type %s', (_, type) =>
  runSuite(type),
);

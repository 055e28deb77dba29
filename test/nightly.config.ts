import { mergeConfig } from 'vitest/config';
import config from '../vitest.config.ts';

/** The same tests in their long form: see test/helpers/night.ts. */
export default mergeConfig(config, { test: { provide: { isNight: true } } });

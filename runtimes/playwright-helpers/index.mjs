import helpers from './index.js';

export const { markCheckAsDegraded, getAPIResponseTime } = helpers;
export default helpers;

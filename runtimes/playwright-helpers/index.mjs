import helpers from './index.js';

export const { markCheckAsDegraded, getAPIResponseTime, totp } = helpers;
export default helpers;

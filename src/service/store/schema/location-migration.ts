/** When an agent said that it stops: from then on it is not there, however short a time ago it called. */
export const agentGoodbyes = {
  name: '0078-agent-goodbyes',
  statements: [`alter table agents add column left_at bigint`],
};

/**
 * Where the role of a member comes from, and which sessions were begun by single sign-on. A member who has
 * logged in by single sign-on has neither role: which one theirs was is found out at the next login.
 */
export const memberOrigins = {
  name: '0072-member-origins',
  statements: [
    `alter table members add column given_role text`,
    `alter table members add column group_role text`,
    `update members set given_role = role
      where not exists (select 1 from identities where identities.person_id = members.person_id)`,
    // How much an address was asked lately, whatever the page.
    `create index status_page_subscriptions_by_address on status_page_subscriptions (address)`,
    `alter table login_sessions add column by_single_sign_on integer not null default 0`,
  ],
};

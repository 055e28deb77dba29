import { type Invite, type Member, memberRoutes } from '@picket/protocol/accounts/member.ts';
import { Role } from '@picket/protocol/accounts/role.ts';
import type { Viewer } from '@picket/service/logins/sessions.ts';
import { copyBox } from '../elements/copy.ts';
import { csrfField, selectField, textField } from '../elements/form.ts';
import { instant, shortened } from '../elements/format.ts';
import { type Column, table } from '../elements/table.ts';
import { actionButton, confirmed, notice, problemNotice } from '../forms/action.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import { type Html, html, path } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageAnswer, PageCall, View } from '../page.ts';
import { accountTabs, roleChoices, roleName } from './tabs.ts';

type Person = Member | Invite;

interface PeopleState {
  readonly problems?: Problems;
  /** Values of the invitation form. */
  readonly email?: string;
  readonly role?: string;
  /** An invitation link that was just created. */
  readonly invited?: { readonly email: string; readonly link: string | null };
}

/** Shows members and invitations, with forms for admins. */
export async function showPeople(call: PageCall, state: PeopleState = {}): Promise<View> {
  const { api, viewer } = call;
  const { members } = await api.call(memberRoutes.listOwnMembers, {});
  const mayChange = api.allows(memberRoutes.createInvite);
  const { problems, invited } = state;
  const main = html`${heading('Account')}${accountTabs('/account', viewer)}
${problems?.fields.size === 0 ? problemNotice(problems) : ''}${invited ? invitation(invited) : ''}
<section><h2>People</h2>${table({
    caption: 'Members and invitations',
    rows: members,
    empty: 'No members yet. People who log in with an API key act under the name of the key.',
    columns: columns(viewer, mayChange),
  })}</section>${mayChange ? inviteForm(viewer, state) : ''}`;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

function columns(viewer: Viewer, mayChange: boolean): Column<Person>[] {
  return [
    {
      title: 'Who',
      cell: (one) =>
        one.type === 'member' && one.name !== null
          ? html`${shortened(one.name, 80)}<br><span class="small soft">${one.email}</span>`
          : one.email,
    },
    {
      title: 'Role',
      cell: (one) =>
        mayChange && one.type === 'member' ? roleForm(one, viewer) : html`${roleName(one.role)}`,
    },
    {
      title: 'Since',
      cell: (one) =>
        one.type === 'member'
          ? instant(one.createdAt)
          : html`invited by ${shortened(one.inviterEmail, 60)}, ${
              one.status === 'PENDING' ? html`until ${instant(one.expiresAt)}` : 'expired'
            }`,
    },
    {
      title: 'Logs in by',
      isMinor: true,
      cell: (one) =>
        one.type === 'invite'
          ? 'not yet'
          : `${one.ssoEnabled ? 'single sign-on' : 'password'}${one.groupRole === null ? '' : `, by groups ${roleName(one.groupRole).toLowerCase()}`}`,
    },
    ...(mayChange
      ? [
          {
            title: 'Actions',
            cell: (one: Person) => (one.type === 'member' ? removal(one, viewer) : takeBack(one, viewer)),
          },
        ]
      : []),
  ];
}

function roleForm(member: Member, viewer: Viewer): Html {
  const id = `role-${member.userId}`;
  return html`<form class="row-actions" method="post" action="${path`/account/members/${member.userId}/role`}">${csrfField(viewer)}
<label class="hidden" for="${id}">Role of ${member.email}</label>
<select id="${id}" name="role">${roleChoices.map(
    ({ value }) =>
      html`<option value="${value}"${value === member.role ? html` selected` : ''}>${roleName(value as Member['role'])}</option>`,
  )}</select> <button class="button" type="submit" aria-label="Change the role of ${member.email}">Change</button></form>`;
}

function removal(member: Member, viewer: Viewer): Html {
  const isSelf = member.userId === viewer.actor.id;
  return confirmed({
    to: path`/account/members/${member.userId}/remove`,
    word: 'Remove…',
    about: member.email,
    confirmWord: isSelf ? 'Leave the account' : 'Remove the member',
    viewer,
    question: isSelf
      ? 'You lose access immediately.'
      : `${member.email} loses access immediately, in all sessions. API keys that they know keep working.`,
  });
}

function takeBack(invite: Invite, viewer: Viewer): Html {
  return actionButton({
    to: path`/account/invites/${invite.id}/delete`,
    word: 'Take back',
    about: invite.email,
    viewer,
  });
}

function inviteForm(viewer: Viewer, { problems, email = '', role = 'READ_WRITE' }: PeopleState): Html {
  return html`<section><h2>Invite a member</h2><form class="form" method="post" action="/account/invites">${csrfField(viewer)}
${textField({ name: 'email', label: 'Mail address', type: 'email', isRequired: true, value: email, error: problems?.fields.get('email'), autocomplete: 'off' })}
${selectField({ name: 'role', label: 'Role', value: role, choices: roleChoices, error: problems?.fields.get('role') })}
<div class="actions"><button class="button primary" type="submit">Invite</button></div></form></section>`;
}

function invitation({ email, link }: { email: string; link: string | null }): Html {
  if (link === null) return notice(`The invitation was sent to ${email}.`);
  return html`<div class="key-once" role="status"><h2>The invitation of ${email}</h2>
<p>The mail could not be sent. Send this link yourself. It is not shown again, works once, and expires in a week.</p>
${copyBox(link, 'the link')}</div>`;
}

export async function sendInvite(call: PageCall): Promise<PageAnswer> {
  const [email = '', role = ''] = ['email', 'role'].map((name) => call.form.get(name) ?? '');
  const { done, problems } = await attempt(() =>
    call.api.call(memberRoutes.createInvite, { body: { email, role: role as Role } }),
  );
  if (problems) return showPeople(call, { problems, email, role });
  const { protocol, host } = call.request;
  const link = done.link?.startsWith('/') ? `${protocol}://${host}${done.link}` : done.link;
  return showPeople(call, { invited: { email: done.email, link } });
}

export async function withdrawInvite(call: PageCall): Promise<PageAnswer> {
  await call.api.call(memberRoutes.deleteInvite, { params: { id: call.params.id ?? '' } });
  return { goTo: '/account', toast: 'Invitation withdrawn.' };
}

export async function changeRole(call: PageCall): Promise<PageAnswer> {
  const role = Role.safeParse(call.form.get('role')).data ?? ('' as Role);
  const params = { userId: call.params.id ?? '' };
  const { problems } = await attempt(() =>
    call.api.call(memberRoutes.updateMember, { params, body: { role } }),
  );
  return problems ? showPeople(call, { problems }) : { goTo: '/account', toast: 'Role changed.' };
}

export async function remove(call: PageCall): Promise<PageAnswer> {
  const params = { userId: call.params.id ?? '' };
  const { problems } = await attempt(() => call.api.call(memberRoutes.deleteMember, { params }));
  return problems ? showPeople(call, { problems }) : { goTo: '/account', toast: 'Member removed.' };
}

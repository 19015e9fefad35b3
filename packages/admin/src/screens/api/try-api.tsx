import { useEffect, useState } from 'preact/hooks';
import { type Answer, call } from '../../data/api.ts';
import { useResource } from '../../data/resource.ts';
import { goTo, linkTo, usePlace } from '../../data/route.ts';
import { session } from '../../data/session.ts';
import { Choose, Field } from '../../parts/field.tsx';
import { useSend } from '../../parts/form.tsx';
import { PageHead, Section } from '../../parts/head.tsx';
import { Shape } from '../../parts/shape.tsx';
import { Show } from '../../parts/states.tsx';
import {
  type ApiDocument,
  type ApiOperation,
  findFault,
  listOperations,
} from '../../words/api-operations.ts';

/** Sends any request of the API as the account that is signed in. */
export function TryApi() {
  const { path } = usePlace();
  const document = useResource('/api/v4/openapi.json');
  return (
    <>
      <PageHead
        title="Try the API"
        lead={
          <>
            Requests are sent to this server as your account, and take effect.{' '}
            <a href="api/v4/docs">The reference</a> describes them all.
          </>
        }
      />
      <Show of={document} what="The description of the API">
        {(data) => (
          <Choice
            operations={listOperations(data as ApiDocument, session.get()?.operations ?? [])}
            name={path[1] ?? 'register'}
          />
        )}
      </Show>
    </>
  );
}

interface ChoiceProps {
  readonly operations: readonly ApiOperation[];
  readonly name: string;
}

function Choice({ operations, name }: ChoiceProps) {
  const chosen = operations.find((one) => one.name === name) ?? operations[0];
  if (chosen === undefined) return null;
  return (
    <div class="form">
      <Choose
        label="Operation"
        value={chosen.name}
        choices={operations.map((one) => [one.name, `${one.method} ${one.path}`])}
        onChange={(next) => goTo(linkTo(`api/${next}`))}
      />
      <Request key={chosen.name} operation={chosen} />
    </div>
  );
}

function Request({ operation }: { readonly operation: ApiOperation }) {
  const [body, setBody] = useState(operation.body ?? '');
  const [query, setQuery] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  useEffect(() => setFault(null), [body]);
  const { isBusy, submit } = useSend(async () => {
    const found = operation.body === null ? null : findFault(body);
    setFault(found);
    if (found !== null) return;
    const address = `${operation.path.slice(1)}${query === '' ? '' : `?${query}`}`;
    setAnswer(await call(operation.method, address, operation.body === null ? null : body));
  });
  return (
    <>
      <div class="field">
        <p class="second">{operation.summary}.</p>
      </div>
      <form onSubmit={submit}>
        {operation.query.length > 0 && (
          <Field
            label="Query"
            value={query}
            onInput={setQuery}
            isMono
            hint={`It may have ${operation.query.join(', ')}, as in ${operation.query[0]}=…`}
          />
        )}
        {operation.body !== null && (
          <Field label="Body" value={body} onInput={setBody} isMono lines={8} fault={fault} />
        )}
        <div class="buttons">
          <button type="submit" class="button primary" aria-busy={isBusy}>
            Send the request
          </button>
        </div>
      </form>
      {answer !== null && <AnswerBox answer={answer} />}
    </>
  );
}

const MAX_LINES = 24;

function AnswerBox({ answer: { status, text } }: { readonly answer: Answer }) {
  const isFine = status >= 200 && status < 300;
  return (
    <Section title="Answer">
      <div class="field" role="status">
        <span class={isFine ? 'fine' : 'fault'}>
          <Shape level={isFine ? 'ok' : 'critical'} />
          {status === 0 ? 'No answer' : `Status ${status}`}
        </span>
      </div>
      <textarea
        class="input mono"
        readOnly
        rows={Math.min(MAX_LINES, text.split('\n').length + 1)}
        aria-label="The body of the answer"
        value={text}
      />
    </Section>
  );
}

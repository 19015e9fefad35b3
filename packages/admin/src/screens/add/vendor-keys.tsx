import { useState } from 'preact/hooks';
import { post, toApiError } from '../../data/api.ts';
import type { useSettings } from '../../data/settings.ts';
import { Field } from '../../parts/field.tsx';
import { FileField } from '../../parts/file-field.tsx';
import { Form } from '../../parts/form.tsx';

/** The settings with the keys that verify what the vendor sends. */
const KEYS = {
  'airgap.publicKey': {
    label: 'Key of confirmation codes',
    hint: '88 characters that end with “==”.',
    lines: 2,
  },
  'cloud.publicKey': {
    label: 'Public key of the vendor',
    hint: 'It begins with “-----BEGIN PUBLIC KEY-----”.',
    lines: 5,
  },
} as const;

type KeyName = keyof typeof KEYS;
type Texts = Readonly<Partial<Record<KeyName, string>>>;

/** The keys without which the last step would fail. */
export function findMissingKeys(
  { of }: Pick<ReturnType<typeof useSettings>, 'of'>,
  { isByCodes }: { readonly isByCodes: boolean },
): readonly KeyName[] {
  const isUnsigned = isByCodes && of('airgap.acceptUnsignedPolicies')?.value === true;
  const needed: readonly KeyName[] = [
    ...(isByCodes ? (['airgap.publicKey'] as const) : []),
    ...(isUnsigned ? [] : (['cloud.publicKey'] as const)),
  ];
  return needed.filter((name) => String(of(name)?.value ?? '') === '');
}

interface VendorKeysFormProps {
  readonly missing: readonly KeyName[];
  readonly onSet: () => void;
}

/** Kept in the store, and in force at once. */
export function VendorKeysForm({ missing, onSet }: VendorKeysFormProps) {
  const [texts, setTexts] = useState<Texts>({});
  const [faults, setFaults] = useState<Texts>({});
  const set = (name: KeyName, text: string) => setTexts({ ...texts, [name]: text });
  const textOf = (name: KeyName) => (texts[name] ?? '').trim();
  const send = async () => {
    const gaps = missing.filter((name) => textOf(name) === '');
    setFaults(Object.fromEntries(gaps.map((name) => [name, 'This is missing.'])));
    if (gaps.length > 0) return;
    const changes = Object.fromEntries(
      missing.map((name) => [name, name === 'cloud.publicKey' ? [textOf(name)] : textOf(name)]),
    );
    try {
      await post('/api/admin/settings', { changes });
      onSet();
    } catch (failure) {
      const { facts, message } = toApiError(failure);
      const wrong = missing.find((name) => name === facts.field);
      if (wrong === undefined) throw failure;
      setFaults({ [wrong]: message });
    }
  };
  const isOne = missing.length === 1;
  return (
    <Form
      className="form"
      verb={isOne ? 'Keep the key' : 'Keep the keys'}
      failure={isOne ? 'The key was not kept.' : 'The keys were not kept.'}
      onSend={send}
    >
      <p class="step-lead">
        This server verifies with {isOne ? 'it' : 'them'} what the vendor sends back. Ask the vendor for{' '}
        {isOne ? 'it' : 'them'} first: a request may use up the only activation of a license.
      </p>
      {missing.map((name, index) => (
        <Field
          key={name}
          {...KEYS[name]}
          value={texts[name] ?? ''}
          onInput={(text) => set(name, text)}
          isMono
          isFirst={index === 0}
          fault={faults[name] ?? null}
        />
      ))}
      {missing.includes('cloud.publicKey') && (
        <FileField
          label="Or its file"
          file={null}
          onFile={async (file) => set('cloud.publicKey', await file.text())}
        />
      )}
    </Form>
  );
}

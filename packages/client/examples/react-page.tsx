import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createClient, type Client, type ReadEdition, type User } from '@quoin/client'
import { useEdition, useField } from './react.ts'

interface EditionProps {
  client: Client
  entityType: string
  id: string
}

function EditionPage({ client, entityType, id }: EditionProps) {
  const { read, locks, isLive, error, save } = useEdition(client.editions, id)
  if (!read) return <p>{error?.message ?? 'Loading ...'}</p>
  return (
    <main>
      <Title
        {...{ client, entityType, id, read }}
        save={(title) => save({ title: [{ value: title }] })}
      />
      <p>{isLive ? 'live' : 'connecting'}</p>
      <ul>
        {locks.map(({ fieldName, userData }) => (
          <li key={fieldName}>
            {userData.name} is editing {fieldName}
          </li>
        ))}
      </ul>
    </main>
  )
}

function Title({
  client,
  entityType,
  id,
  read,
  save
}: EditionProps & { read: ReadEdition; save: (title: string) => Promise<void> }) {
  const storedText = String(read.edition['title']?.[0]?.['value'])
  const { text, isHeld, holder, focus, change, blur } = useField(
    client.locks,
    { type: entityType, id, fieldName: 'title' },
    storedText,
    save
  )
  return (
    <>
      <h1>{storedText}</h1>
      <label>
        Title{' '}
        <input
          value={text}
          readOnly={!isHeld}
          onFocus={focus}
          onChange={({ target }) => change(target.value)}
          onBlur={blur}
        />
      </label>
      {holder && <p>{holder.userData.name} is editing this</p>}
    </>
  )
}

export function mount(
  place: HTMLElement,
  { user, ...edition }: { user: User; entityType: string; id: string }
): () => void {
  const client = createClient({ user, entityType: edition.entityType })
  const stop = client.locks.releaseOnPageHide()
  const root = createRoot(place)
  root.render(
    <StrictMode>
      <EditionPage client={client} {...edition} />
    </StrictMode>
  )
  return () => {
    stop()
    root.unmount()
  }
}

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createClient, type Client, type User } from '@quoin/client'
import { useBoard, useEdition, useLock, useOthers } from '@quoin/react'

interface EditionProps {
  client: Client
  entityType: string
  id: string
}

function EditionPage({ client, entityType, id }: EditionProps) {
  const { edition, error, save } = useEdition(client, id)
  const { locks, isLive } = useBoard(client, id)
  const others = useOthers(client, { type: entityType, id }, { stream: id })
  if (!edition) return <p>{error?.message ?? 'Loading ...'}</p>
  return (
    <main>
      <Title
        {...{ client, entityType, id }}
        text={String(edition.title?.[0]?.value)}
        store={(title) => save({ title: [{ value: title }] })}
      />
      <p>{isLive ? 'live' : 'connecting'}</p>
      <ul>
        {locks.map(({ fieldName, userData }) => (
          <li key={fieldName}>
            {userData.name} is editing {fieldName}
          </li>
        ))}
        {others.map(({ userData }) => (
          <li key={userData.uid}>{userData.name} is here</li>
        ))}
      </ul>
    </main>
  )
}

interface TitleProps extends EditionProps {
  text: string
  store: (title: string) => Promise<unknown>
}

function Title({ client, entityType, id, text, store }: TitleProps) {
  const field = { type: entityType, id, fieldName: 'title' }
  const { input, holder, takeOver } = useLock(client, field, { text, store })
  return (
    <>
      <h1>{text}</h1>
      <label>
        Title <input {...input} />
      </label>
      {holder && (
        <p>
          {holder.userData.name} is editing this <button onClick={takeOver}>Take over</button>
        </p>
      )}
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

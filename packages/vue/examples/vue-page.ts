import { createApp, defineComponent, h, type PropType } from 'vue'
import { createClient, type Client, type User } from '@quoin/client'
import { useBoard, useEdition, useLock, useOthers } from '@quoin/vue'

const props = {
  client: { type: Object as PropType<Client>, required: true },
  entityType: { type: String, required: true },
  id: { type: String, required: true }
} as const

const Title = defineComponent({
  props: {
    ...props,
    text: { type: String, required: true },
    store: { type: Function as PropType<(title: string) => Promise<unknown>>, required: true }
  },
  setup(props) {
    const { input, holder, takeOver } = useLock(
      () => props.client,
      () => ({ type: props.entityType, id: props.id, fieldName: 'title' }),
      { text: () => props.text, store: (title) => props.store(title) }
    )
    return () => [
      h('h1', props.text),
      h('label', ['Title ', h('input', input.value)]),
      holder.value &&
        h('p', [
          `${holder.value.userData.name} is editing this `,
          h('button', { onClick: takeOver }, 'Take over')
        ])
    ]
  }
})

const EditionPage = defineComponent({
  props,
  setup(props) {
    const { edition, error, save } = useEdition(
      () => props.client,
      () => props.id
    )
    const { locks, isLive } = useBoard(
      () => props.client,
      () => props.id
    )
    const others = useOthers(
      () => props.client,
      () => ({ type: props.entityType, id: props.id }),
      { stream: () => props.id }
    )
    return () =>
      edition.value
        ? h('main', [
            h(Title, {
              ...props,
              text: String(edition.value.title?.[0]?.value),
              store: (title: string) => save({ title: [{ value: title }] })
            }),
            h('p', isLive.value ? 'live' : 'connecting'),
            h('ul', [
              ...locks.value.map(({ fieldName, userData }) =>
                h('li', { key: fieldName }, `${userData.name} is editing ${fieldName}`)
              ),
              ...others.value.map(({ userData }) =>
                h('li', { key: userData.uid }, `${userData.name} is here`)
              )
            ])
          ])
        : h('p', error.value?.message ?? 'Loading ...')
  }
})

export function mount(
  place: HTMLElement,
  { user, ...edition }: { user: User; entityType: string; id: string }
): () => void {
  const client = createClient({ user, entityType: edition.entityType })
  const stop = client.locks.releaseOnPageHide()
  const app = createApp(EditionPage, { client, ...edition })
  app.mount(place)
  return () => {
    stop()
    app.unmount()
  }
}

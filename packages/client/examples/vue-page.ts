import { computed, createApp, defineComponent, h, type PropType } from 'vue'
import { createClient, type Client, type ReadEdition, type User } from '@quoin/client'
import { useEdition, useField } from './vue.ts'

const props = {
  client: { type: Object as PropType<Client>, required: true },
  entityType: { type: String, required: true },
  id: { type: String, required: true }
} as const

const Title = defineComponent({
  props: {
    ...props,
    read: { type: Object as PropType<ReadEdition>, required: true },
    save: { type: Function as PropType<(title: string) => Promise<void>>, required: true }
  },
  setup(props) {
    const storedText = computed(() => String(props.read.edition['title']?.[0]?.['value']))
    const { text, isHeld, holder, focus, change, blur } = useField(
      props.client.locks,
      { type: props.entityType, id: props.id, fieldName: 'title' },
      storedText,
      (title) => props.save(title)
    )
    return () => [
      h('h1', storedText.value),
      h('label', [
        'Title ',
        h('input', {
          value: text.value,
          readonly: !isHeld.value,
          onFocus: focus,
          onInput: ({ target }: Event) => change((target as HTMLInputElement).value),
          onBlur: blur
        })
      ]),
      holder.value && h('p', `${holder.value.userData.name} is editing this`)
    ]
  }
})

const EditionPage = defineComponent({
  props,
  setup(props) {
    const { read, locks, isLive, error, save } = useEdition(props.client.editions, () => props.id)
    return () =>
      read.value
        ? h('main', [
            h(Title, {
              ...props,
              read: read.value,
              save: (title: string) => save({ title: [{ value: title }] })
            }),
            h('p', isLive.value ? 'live' : 'connecting'),
            h(
              'ul',
              locks.value.map(({ fieldName, userData }) =>
                h('li', { key: fieldName }, `${userData.name} is editing ${fieldName}`)
              )
            )
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

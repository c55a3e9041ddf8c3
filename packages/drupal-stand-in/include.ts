import { entityAccess, fieldViewAccess, isPersonal, type Viewer } from './access.ts'
import { CmsError } from './errors.ts'
import { entityTypes, isReference } from './model.ts'
import type { OmittedEntity } from './document.ts'
import { isLabelOnly } from './resource.ts'
import { resourceUrl, type Site } from './site.ts'
import type { Entity } from './store.ts'

interface Tree {
  [name: string]: Tree
}

/** The include paths as a tree; every path is checked against the type it starts from. */
function parseInclude(entityType: string, include: string): Tree {
  const tree: Tree = {}
  for (const path of include.split(',').filter((one) => one !== '')) {
    let at = tree
    let type: string | undefined = entityType
    const names = path.split('.')
    for (const [depth, name] of names.entries()) {
      const relationships: { public: string; target?: string }[] = (
        entityTypes[type ?? '']?.fields ?? []
      ).filter(isReference)
      const field = relationships.find((one) => one.public === name)
      if (!field) {
        const nested = depth > 0 ? `\`${path}\` is not a valid include path. ` : ''
        const possible =
          relationships.length > 0
            ? ` Possible values: ${relationships.map((one) => one.public).join(', ')}.`
            : ''
        throw new CmsError(
          400,
          `${nested}\`${name}\` is not a valid relationship field name.${possible}`
        )
      }
      at = at[name] ??= {}
      type = field.target
    }
  }
  return tree
}

/**
 * The entities that an `include` parameter adds to the primary ones, each once, parents before
 * their children; what the viewer may not see goes to `omitted`.
 * @param personal called if the answer is for this viewer only
 */
export function includedEntities(
  site: Site,
  viewer: Viewer,
  entityType: string,
  primary: Entity[],
  include: string,
  omissions: OmittedEntity[],
  personal: () => void
): Entity[] {
  const entitiesByKey = new Map<string, Entity>()
  const visit = (entities: Entity[], tree: Tree): void => {
    for (const [name, inner] of Object.entries(tree)) {
      const next: Entity[] = []
      for (const entity of entities) {
        const field = entityTypes[entity.entityType]?.fields.find((one) => one.public === name)
        if (!field) continue
        if (!fieldViewAccess(viewer, entity.entityType, field.name, entity).allowed) {
          omissions.push({
            href: `${resourceUrl(site, entity)}/${name}`,
            detail: 'The current user is not allowed to view this relationship.'
          })
          continue
        }
        const bundleKey = entityTypes[entity.entityType]?.bundleKey
        const ids =
          name === bundleKey || field.name === bundleKey
            ? [entity.bundle]
            : (entity.fields[field.name] ?? []).map((item) => item.target_id)
        for (const id of ids) {
          const target = site.store.byId(field.target!, id as number | string)
          if (!target || next.includes(target)) continue
          if (isPersonal(viewer, target)) personal()
          const access = entityAccess(viewer, target, 'view')
          if (access.allowed || isLabelOnly(viewer, target)) next.push(target)
          else {
            const detail =
              `The current user is not allowed to GET the selected resource. ${access.reason}`.trim()
            omissions.push({ href: resourceUrl(site, target), detail })
          }
        }
      }
      for (const target of next) entitiesByKey.set(`${target.entityType} ${target.uuid}`, target)
      visit(next, inner)
    }
  }
  visit(primary, parseInclude(entityType, include))
  return [...entitiesByKey.values()]
}

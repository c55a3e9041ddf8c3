import type { LinesOf } from './lines.ts'
import type { en } from './texts-journal-en.ts'

/** What the history of an edition says, in French. */
export const fr: LinesOf<typeof en> = {
  close: 'Fermer l’historique',
  nothingKept: 'Rien n’a encore été enregistré dont l’historique soit conservé.',
  isOff: 'Ce service ne conserve pas d’historique.',
  notYours: 'L’historique est réservé à ceux qui peuvent modifier cette édition.',
  shown: { one: '{count} entrée affichée', other: '{count} entrées affichées' },
  who: 'Par',
  everybody: 'tout le monde',
  older: 'Plus anciennes',
  endsHere:
    'Cette page montre les {count} entrées les plus récentes. Le service en conserve de plus anciennes.',

  // What was done
  create: 'Création',
  update: 'Enregistrement',
  order: 'Ordre des articles modifié',
  published: 'Publication',
  closed: 'Clôture',
  restore: 'Remise en place',
  takeover: '{label} repris à {name}',
  proposed: 'Texte proposé pour {label}',
  taken: 'Proposition de {name} pour {label} acceptée',
  discarded: 'Proposition de {name} pour {label} écartée',
  withdrawn: 'Proposition pour {label} retirée',
  outside: 'Modification hors de Quoin',
  inDrupal: 'Enregistrement dans Drupal',
  unknown: 'Inconnu',

  // What became of it
  refused: 'Refusé : rien n’a été enregistré.',
  uncertain: 'Personne ne sait encore si cela a été enregistré. Comparez avec l’édition.',
  changedBetween:
    'Entre {from} et {to}, l’édition a été modifiée dans Drupal ou par un autre programme. Ce qui a changé n’est pas connu ici.',
  changedUnknown:
    'L’édition a été modifiée dans Drupal ou par un autre programme. Ce qui a changé n’est pas connu ici.',
  changedFields: 'Modifiés : {labels}. Le contenu précédent n’est pas connu ici.',
  unrecorded: {
    one: '{count} enregistrement par Quoin n’a pas d’entrée, car le service des verrous ne répondait pas.',
    other:
      '{count} enregistrements par Quoin n’ont pas d’entrée, car le service des verrous ne répondait pas.'
  },
  moreFields: {
    one: '{count} autre champ a changé. Son nom n’est pas conservé.',
    other: '{count} autres champs ont changé. Leurs noms ne sont pas conservés.'
  },
  tooLargeBefore: 'L’état précédent est trop grand pour l’historique.',
  tooLargeAfter: 'Ce qui a été enregistré est trop grand pour l’historique.',
  notShown: 'Modifié d’une façon que cette page ne montre pas.',
  fields: { one: '{count} champ', other: '{count} champs' },
  yes: 'oui',
  no: 'non',

  // Putting back
  putBefore: 'Remettre l’état précédent',
  putAfter: 'Remettre ce qui a été enregistré alors',
  putTried: 'Reprendre ce qui devait être enregistré',
  ask: 'Remettre {label} ?',
  replaces: 'Ce qui est enregistré maintenant est remplacé et reste dans l’historique.',
  replacesOrder:
    'Tout l’ordre est remplacé, avec ce que d’autres y ont changé depuis. L’ordre actuel reste dans l’historique.',
  unsaved: 'Ce que vous y avez saisi reste : choisissez ensuite lequel des deux enregistrer.',
  putNow: 'Remettre',
  isBack: '{label} est remis.',
  isNotBack: '{label} n’est pas remis : {reason}',
  changedMeanwhile:
    '{label} n’est pas remis : un collègue a enregistré entre-temps. Regardez à nouveau.',

  // Putting back what an agent did
  putBackSince: 'Annuler ce qu’il a fait à partir d’ici',
  askSince: 'Annuler ce que {name} a fait depuis {time} ?',
  sinceFields: { one: '{count} modification.', other: '{count} modifications.' },
  sinceHow:
    'La plus récente d’abord. Ce que quelqu’un d’autre a modifié depuis, ou modifie en ce moment, reste tel quel.',
  sinceCut: 'Les modifications plus anciennes restent pour une autre fois.',
  putSince: 'Les annuler',
  stopSince: 'Arrêter',
  closeSince: 'Fermer',
  sincePutBack: '{count} sur {all} annulées.',
  sinceInPart: 'annulé en partie : quelqu’un a modifié le reste depuis.',
  sinceAlready: 'est déjà comme avant.',
  sinceChanged: 'a été modifié depuis.',
  sinceChangedBy: '{name} l’a modifié depuis.',
  sinceHeld: '{name} est en train de le modifier.',
  sinceNotHere: 'l’historique ne peut pas l’annuler.',
  sinceNotKept: 'ce qu’il y avait avant n’est pas conservé.'
}

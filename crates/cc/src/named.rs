/// Gives the variants of an enum the names that scenarios use: `NAMES`, `ALL`, `name` and `find`.
#[macro_export]
macro_rules! named {
    ($kind:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $kind {
            /// Every one with its name.
            pub const NAMES: [(&'static str, $kind); [$($name),*].len()] = [$(($name, $kind::$variant)),*];

            /// Every one.
            pub const ALL: [$kind; $kind::NAMES.len()] = [$($kind::$variant),*];

            /// The name scenarios use.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name),*
                }
            }

            /// The one of this name.
            pub fn find(name: &str) -> Option<$kind> {
                $kind::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

//! The recipe in macros, for every version: a structure is its fields one after the other, an
//! enumeration its number, a status its number in words.

/// Defines a structure whose wire format is its fields, one after the other.
macro_rules! wire {
    ($(#[$doc:meta])* pub struct $name:ident<$life:lifetime> {
        $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<$life> { $($(#[$field_doc])* pub $field: $type,)* }
        impl $crate::xdr::Encode for $name<'_> {
            fn encode(&self, to: &mut $crate::xdr::Encoder<'_>) { $(self.$field.encode(to);)* }
        }
        impl<$life> $crate::xdr::Decode<$life> for $name<$life> {
            fn decode(from: &mut $crate::xdr::Decoder<$life>) -> Result<Self, $crate::xdr::Error> {
                Ok($name { $($field: from.value()?,)* })
            }
        }
    };
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        impl $crate::xdr::Encode for $name {
            fn encode(&self, to: &mut $crate::xdr::Encoder<'_>) { $(self.$field.encode(to);)* }
        }
        impl $crate::xdr::Decode<'_> for $name {
            fn decode(from: &mut $crate::xdr::Decoder<'_>) -> Result<Self, $crate::xdr::Error> {
                Ok($name { $($field: from.value()?,)* })
            }
        }
    };
}
pub(crate) use wire;

macro_rules! enumeration {
    ($(#[$doc:meta])* pub enum $name:ident, $what:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $number:literal $text:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant = $number,)* }
        impl $crate::xdr::Encode for $name {
            fn encode(&self, to: &mut $crate::xdr::Encoder<'_>) { to.u32(*self as u32); }
        }
        impl $crate::xdr::Decode<'_> for $name {
            fn decode(
                from: &mut $crate::xdr::Decoder<'_>,
            ) -> Result<Self, $crate::xdr::Error> {
                match from.u32()? {
                    $($number => Ok($name::$variant),)*
                    value => Err($crate::xdr::Error::Unknown { what: $what, value }),
                }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($name::$variant => $text,)* })
            }
        }
    };
}
pub(crate) use enumeration;

/// Defines the statuses of a version, with their names and what they mean.
macro_rules! statuses {
    ($(#[$about:meta])* $enum:ident, $what:literal:
     $($number:literal $name:literal $variant:ident $doc:literal,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $enum {
            $(#[doc = concat!($name, ": ", $doc, ".")] $variant,)*
            /// A number that the protocol does not have.
            Other(u32),
        }

        impl $enum {
            /// The status with this number; `None` is success.
            pub fn from_number(number: u32) -> Option<$enum> {
                match number {
                    0 => None,
                    $($number => Some($enum::$variant),)*
                    other => Some($enum::Other(other)),
                }
            }

            /// Its number on the wire.
            pub fn number(self) -> u32 {
                match self {
                    $($enum::$variant => $number,)*
                    $enum::Other(other) => other,
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($enum::$variant => f.write_str(concat!($name, " (", $doc, ")")),)*
                    $enum::Other(other) => write!(f, concat!($what, " {}"), other),
                }
            }
        }
    };
}
pub(crate) use statuses;

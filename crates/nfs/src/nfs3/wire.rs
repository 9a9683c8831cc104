//! The recipe in two macros: a structure is its fields one after the other, an enumeration its
//! number.

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
pub(super) use wire;

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
pub(super) use enumeration;
